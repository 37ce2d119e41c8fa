"""The vocabulary of all schemas, and what a schema is and may offer."""
