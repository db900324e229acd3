"""Settings of the property tests: none depends on how busy the machine is."""

from hypothesis import HealthCheck, settings

settings.register_profile("committee", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("committee")
