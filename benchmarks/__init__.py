"""What is measured, beside what, and how; see README.md."""
