"""What the runtime costs, beside raw Ray in the same run. ``scripts/bench`` runs all and prints one table."""
