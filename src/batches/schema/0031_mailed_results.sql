-- Whether a mail with a link to the results is sent when a run of the schedule ends.
alter table schedules add mail_results boolean not null default false;
