"""What every app stands on and none of them owns: small modules without models or views, imported
by whatever lies above."""
