-- A tracker can hold a screen of search terms instead of conditions: the parameters of research.screen, without week and cursor.
alter table trackers add screen jsonb;
-- The last week for which a run was started. It is set in the transaction that creates the run, so a week runs once.
alter table trackers add screen_week date;
create index trackers_screens on trackers (domain, screen_week) where screen is not null;

-- The address of an incoming webhook of a chat, sealed, and its host. Messages have only the host: the address is read when they
-- are sent.
alter table trackers add chat text;
alter table trackers add chat_host text;
-- The last alert that a message to the chat contained, and the time of that message.
alter table trackers add chat_alert_id uuid;
alter table trackers add chat_at timestamptz;
alter table trackers add chat_message_id uuid;
update trackers set notify = notify || '{chat}';
alter table trackers alter notify set default '{webhook,chat}';
create index trackers_chat on trackers (id) where 'chat' = any (notify);

-- The filters of a screen that a term crosses, in an alert about a screen.
alter table tracker_alerts add reasons jsonb;

alter table outbox drop constraint outbox_channel_check;
alter table outbox add constraint outbox_channel_check check (channel in ('mail', 'webhook', 'chat'));
