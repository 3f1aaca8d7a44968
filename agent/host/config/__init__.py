"""The configuration: files (`files`, `json`) give entries, validated as models (`models`, `servers`) and merged."""
