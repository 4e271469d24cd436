import { z } from 'zod';
import { alertActs, silenceField } from '../../operator/acts/alert-acts.ts';
import { noticeActs } from '../../operator/acts/sale-acts.ts';
import { isSilenced } from '../../operator/alerts/alert-state.ts';
import { ALERT_NAMES } from '../../operator/alerts/alerts.ts';
import { listAlerts } from '../../operator/alerts/watch.ts';
import { type Announcement, announcementFields, listAnnouncements } from '../../operator/announcements.ts';
import {
  AUDIT_ACTIONS,
  type AuditAction,
  auditLines,
  changeText,
  type StoredLine,
} from '../../operator/audit.ts';
import { instant, wholeNumber } from '../../operator/fields.ts';
import { accountId, command, group, OperatorError, reportOf } from '../terminal.ts';

interface ReportedAlert {
  name: string;
  says: string;
  level: string;
  since: Date | null;
  lines: readonly { name: string; text: string }[];
  silencedUntil: Date | null;
  cause: string;
  page: string;
  runbook: string;
}

const showAlerts = reportOf<ReportedAlert>([
  ['Alert', ({ name }) => name],
  ['State', ({ level }) => level],
  ['Since', ({ since }) => since],
  ['What', ({ lines, says }) => lines.map(({ name, text }) => `${name}: ${text}`).join('\n') || says],
  ['Silenced until', ({ silencedUntil }) => silencedUntil],
]);

export const alertsCommand = command({
  name: 'alerts',
  description: 'lists the alerts of the operator that hold now, or silences one',
  options: {
    '--all': 'lists all alerts',
    '--silence <NAME>': 'silences an alert, such as SoukQueueWait',
    '--for <T>': '1h, 1d, 7d, or end, which ends the silence (default: 1h)',
  },
  input: z.object({
    all: z.boolean().default(false),
    silence: z.enum(ALERT_NAMES, `must be one of ${ALERT_NAMES.join(', ')}`).optional(),
    for: silenceField.default('1h'),
  }),
  async run(context, { all, silence, for: length }) {
    const { database, now } = context;
    if (silence !== undefined) await alertActs.silence(context, silence, length);
    const listed = (await listAlerts(database, now)).filter(
      ({ name, state }) => all || state.since !== null || name === silence,
    );
    return showAlerts(
      listed.map(({ name, alert, level, state }) => ({
        name,
        says: alert.says,
        level,
        since: state.since === null ? null : new Date(state.since),
        lines: state.lines,
        silencedUntil: isSilenced(state, now) ? new Date(state.silencedUntil ?? now) : null,
        cause: alert.cause,
        page: alert.page,
        runbook: `docs/operating/runbooks/${alert.runbook}.md`,
      })),
    );
  },
});

const showAnnouncements = reportOf<Announcement>([
  ['ID', ({ id }) => String(id)],
  ['Text', ({ text }) => text],
  ['Link', ({ link }) => link],
  ['Level', ({ level }) => level],
  ['Audience', ({ audience }) => audience],
  ['From', ({ startsAt }) => startsAt],
  ['Until', ({ endsAt }) => endsAt],
]);

export const announceCommand = command({
  name: 'announce',
  description: 'shows a message on all pages for some time',
  required: {
    '--text <T>': 'plain text, at most 500 characters',
    '--until <T>': 'end, such as 2027-01-31T14:00:00Z',
  },
  options: {
    '--link <U>': 'address with more information',
    '--level <L>': ['info or warning', 'info'],
    '--audience <A>': ['everyone or signed-in', 'everyone'],
    '--from <T>': 'start (default: now)',
  },
  input: announcementFields,
  async run(context, fields) {
    const made = await noticeActs.announce(context, fields);
    if (!made) throw new OperatorError('--until must be after --from, and in the future.');
    return showAnnouncements(made);
  },
});

export const announcementCommands = group('announcements', 'manages announcements', [
  command({
    name: 'list',
    description: 'lists announcements, newest first',
    run: async ({ database }) => showAnnouncements(await listAnnouncements(database)),
  }),
  command({
    name: 'end',
    description: 'ends an announcement now',
    arguments: { '<ID>': 'number of the announcement' },
    input: z.object({
      id: z
        .string()
        .regex(/^\d{1,15}$/, 'must be the number of an announcement')
        .transform(Number),
    }),
    async run(context, { id }) {
      const ended = await noticeActs.endAnnouncement(context, id);
      if (!ended) throw new OperatorError(`Announcement ${id} does not exist or has ended.`);
      return showAnnouncements(ended);
    },
  }),
]);

const actions = Object.keys(AUDIT_ACTIONS) as [AuditAction, ...AuditAction[]];

const showLines = reportOf<StoredLine>([
  ['Line', ({ id }) => String(id)],
  ['Time', ({ at }) => at],
  ['Operator', ({ operator }) => operator],
  ['Action', ({ action }) => action],
  ['Account', ({ accountId: of }) => of?.toString()],
  ['Target', ({ target }) => target],
  ['Change', changeText],
]);

export const auditCommands = group('audit', 'shows what operators did', [
  command({
    name: 'list',
    description: 'lists the lines of the audit log, newest first',
    options: {
      '--account <ID>': 'only acts on this account',
      '--action <A>': 'only this action, such as account.disabled',
      '--operator <O>': 'only operators whose name contains this text',
      '--from <T>': 'only lines from this time on',
      '--to <T>': 'only lines before this time',
      '--limit <N>': ['maximum number of lines', '50'],
      '--before <L>': 'only lines before this line',
    },
    input: z.object({
      account: accountId.optional(),
      action: z.enum(actions, `must be one of ${actions.join(', ')}`).optional(),
      operator: z.string().trim().optional(),
      from: instant.optional(),
      to: instant.optional(),
      limit: wholeNumber(1, 10_000),
      before: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
    }),
    async run({ database }, { account, limit, before, ...filter }) {
      return showLines(await auditLines(database, { ...filter, accountId: account }, { before, limit }));
    },
  }),
]);
