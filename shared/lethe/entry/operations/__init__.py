"""Operations of the API: from a validated call to a use case, and its result to an answer; nothing is decided here."""
