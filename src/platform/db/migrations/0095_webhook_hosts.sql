-- Up Migration

-- Host and port of the address, as in webhook_deliveries: the hosts of an account's pending webhooks are limited.
alter table call_webhooks add column host text;
update call_webhooks set host = substring(url from '//([^/?#]+)');
alter table call_webhooks alter column host set not null;
