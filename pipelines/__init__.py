"""The code location: definitions, jobs, schedules, sensors, resources, and the generated bank."""
