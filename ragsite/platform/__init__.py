"""What every app stands on and none of them owns: policies and mechanisms that know nothing of
documents, retrieval or evaluation."""
