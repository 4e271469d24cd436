-- The rows of an item in the last run of its schedule: gzip of a JSON list of objects; null if the results form no table, or are too
-- large to be compared.
alter table schedule_contents add column rows bytea;
-- What has changed in the items of the call since the run before: gzip of NDJSON, one line for each changed value.
alter table batch_calls add column changes bytea;
alter table batch_calls alter column changes set storage external;
