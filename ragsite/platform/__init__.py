"""What every app stands on and no app owns: who is acting, limits, guards. Modules here import
nothing of the apps."""
