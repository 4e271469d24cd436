-- The title of a tracked product, or the search term, and the file name of the product's main picture, as of the last check.
alter table tracker_states add title text;
alter table tracker_states add image text;
