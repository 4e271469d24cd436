import type { Command } from 'commander';
import { z } from 'zod';
import { alertActs, silenceField } from '../../operator/acts/alert-acts.ts';
import { isSilenced } from '../../operator/alerts/alert-state.ts';
import { ALERT_NAMES, alertNamed } from '../../operator/alerts/alerts.ts';
import { listAlerts } from '../../operator/alerts/watch.ts';
import {
  type Context,
  type Given,
  OperatorError,
  onDatabase,
  type Report,
  readInput,
  table,
} from '../terminal.ts';

const silenceInput = z.object({ for: silenceField.default('1h') });

export function registerAlerts(program: Command): void {
  onDatabase(
    program
      .command('alerts')
      .description('lists the alerts of the operator that hold now, or silences one')
      .option('--all', 'lists all alerts')
      .option('--silence <NAME>', 'silences an alert, such as SoukQueueWait')
      .option('--for <T>', '1h, 1d, 7d, or end, which ends the silence (default: 1h)'),
    alerts,
  );
}

async function alerts(context: Context, given: Given): Promise<Report> {
  const { database, now } = context;
  const { all, silence } = given as { all?: boolean; silence?: string };
  if (silence !== undefined) {
    const known = alertNamed(silence);
    if (!known) throw new OperatorError(`--silence must be one of ${ALERT_NAMES.join(', ')}.`);
    await alertActs.silence(context, known.name, readInput(silenceInput, { for: given.for }).for);
  }
  const listed = (await listAlerts(database, now)).filter(
    ({ name, state }) => all || state.since !== null || name === silence,
  );
  const data = listed.map(({ name, alert, level, state }) => ({
    name,
    says: alert.says,
    level,
    since: state.since === null ? null : new Date(state.since),
    lines: state.lines,
    silencedUntil: isSilenced(state, now) ? new Date(state.silencedUntil ?? now) : null,
    cause: alert.cause,
    page: alert.page,
    runbook: `docs/operating/runbooks/${alert.runbook}.md`,
  }));
  return {
    data,
    text: table(
      ['Alert', 'State', 'Since', 'What', 'Silenced until'],
      data.map(({ name, level, since, lines, silencedUntil, says }) => [
        name,
        level,
        since,
        lines.map(({ name, text }) => `${name}: ${text}`).join('\n') || says,
        silencedUntil,
      ]),
    ),
  };
}
