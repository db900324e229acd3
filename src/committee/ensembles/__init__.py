"""The story of each ensemble: its class, its parameters, its loop."""
