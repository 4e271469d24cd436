-- Tables are made from the lines of results when they are downloaded.
alter table batch_calls drop column table_rows;
