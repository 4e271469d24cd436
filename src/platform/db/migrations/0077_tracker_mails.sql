-- Up Migration

-- How alerts are sent: `webhook`, `email`, both or neither. The last alert that a mail contained, and the time of that mail.
alter table trackers
  add column notify text[] not null default '{webhook}',
  add column mailed_alert_id uuid,
  add column mailed_at timestamptz;

create index trackers_mailing on trackers (id) where 'email' = any (notify);
