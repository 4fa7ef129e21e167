"""Moving a namespace to another index profile with no downtime: estimate, build, switch, back."""
