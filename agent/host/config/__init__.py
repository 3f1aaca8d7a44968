"""What a person may configure: files (`files`, `json`) to entries, entries to models (`models`, `servers`), merged."""
