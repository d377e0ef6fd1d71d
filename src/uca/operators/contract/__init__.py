"""All that a solver may know about data."""
