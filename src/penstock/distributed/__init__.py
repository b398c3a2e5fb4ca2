"""Programs of several processes: who takes part, and how they talk."""
