import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { alertActs, SILENCES, silenceField } from '../../operator/acts/alert-acts.ts';
import { isSilenced } from '../../operator/alerts/alert-state.ts';
import { type AlertName, alertNamed } from '../../operator/alerts/alerts.ts';
import { pageOf } from '../../operator/alerts/messages.ts';
import { listAlerts, type ShownAlert } from '../../operator/alerts/watch.ts';
import { SoukError } from '../../platform/errors.ts';
import { renderRunbook } from '../docs/guides.ts';
import { ButtonLink, Facts, Notice, ToneTag } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { Dash, Time } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';

const PATH = '/admin/alerts';

const params = z.object({ name: z.string() });
const silenceForm = z.object({ for: silenceField });

/** Registers the list of alerts, and a page for each with its runbook and the buttons that silence it. */
export function registerAlerts(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get(PATH, async (_request, reply) => {
    const now = clock.now();
    const alerts = await listAlerts(database, now);
    const present = alerts.filter(({ state }) => state.since !== null);
    return sendPage(
      reply,
      <Page title="Alerts" wide>
        <p class="lead">
          Souk measures them once a minute, and sends them to the addresses of <code>ALERT_MAIL</code> and to
          the chat of <code>ALERT_WEBHOOK</code>, at most once an hour for each.
        </p>
        <div id="alerts" data-refresh="30">
          <h2>Now</h2>
          <AlertTable name="Alerts now" empty="No alerts." alerts={present} now={now} isPresent />
          <h2>Other alerts</h2>
          <AlertTable
            name="Other alerts"
            empty="All alerts are listed above."
            alerts={alerts.filter((alert) => !present.includes(alert))}
            now={now}
          />
        </div>
      </Page>,
    );
  });
  scope.get(`${PATH}/:name`, async (request, reply) => sendAlert(reply, nameIn(request)));
  scope.post(`${PATH}/:name/silence`, async (request, reply) => {
    const name = nameIn(request);
    const form = silenceForm.safeParse(request.body);
    if (!form.success)
      throw new SoukError('VALIDATION_FAILED', { message: 'for: must be 1h, 1d, 7d or end.' });
    await alertActs.silence(operatingOf(pages, request), name, form.data.for);
    return reply.redirect(pageOf(name), 303);
  });

  async function sendAlert(reply: FastifyReply, name: AlertName): Promise<FastifyReply> {
    const now = clock.now();
    const shown = (await listAlerts(database, now)).find((one) => one.name === name);
    if (!shown) throw new SoukError('NOT_FOUND');
    const runbook = renderRunbook(shown.alert.runbook);
    return sendPage(
      reply,
      <Page title={shown.alert.says} back={[PATH, 'Alerts']}>
        <AlertFacts shown={shown} now={now} />
        <Lines shown={shown} />
        <div class="row">
          <ButtonLink to={shown.alert.page}>Open its figures</ButtonLink>
          <SilenceButtons shown={shown} now={now} />
        </div>
        <h2>Runbook: {runbook.title}</h2>
        {/* Rendered from a file of this repository, not from input. */}
        <div dangerouslySetInnerHTML={{ __html: runbook.html }} />
      </Page>,
    );
  }
}

/** @throws SoukError NOT_FOUND if the address names no alert. */
function nameIn(request: FastifyRequest): AlertName {
  const known = alertNamed(params.parse(request.params).name);
  if (!known) throw new SoukError('NOT_FOUND', { message: 'There is no such alert.' });
  return known.name;
}

/** The alerts that fire and are not silenced, for the front page. */
export function AlertNotice({ alerts, now }: { alerts: readonly ShownAlert[]; now: number }): VNode | null {
  const firing = alerts.filter(({ level, state }) => level === 'firing' && !isSilenced(state, now));
  if (firing.length === 0) return null;
  const isBad = firing.some(({ alert }) => alert.severity === 'critical');
  return (
    <Notice tone={isBad ? 'bad' : 'warn'}>
      {firing.map(({ name, alert }, i) => (
        <span key={name}>
          {i > 0 && ' · '}
          <a href={pageOf(name)}>{alert.says}</a>
        </span>
      ))}
    </Notice>
  );
}

const LEVELS = {
  firing: ['bad', 'firing'],
  pending: ['warn', 'pending'],
  well: ['good', 'OK'],
  prometheus: ['', 'by Prometheus'],
} as const;

function LevelTag({ shown: { level, state }, now }: { shown: ShownAlert; now: number }): VNode {
  return (
    <>
      <ToneTag of={LEVELS[level]} />
      {isSilenced(state, now) && (
        <>
          {' '}
          <ToneTag of={['', 'silenced']} />
        </>
      )}
    </>
  );
}

const SINCE: Column<ShownAlert> = ['Since', ({ state }) => <Time at={state.since} />];

/** A text with its words between backticks as code. */
const withCode = (text: string) =>
  text.split('`').map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part));

function AlertTable(props: {
  name: string;
  empty: string;
  alerts: readonly ShownAlert[];
  now: number;
  isPresent?: boolean;
}): VNode {
  const { name, empty, alerts, now, isPresent = false } = props;
  return (
    <Table
      name={name}
      empty={empty}
      rows={alerts}
      columns={[
        ['Alert', ({ name, alert }) => <a href={pageOf(name)}>{alert.says}</a>, 'row'],
        ['State', (shown) => <LevelTag shown={shown} now={now} />],
        ...(isPresent ? [SINCE] : []),
        [
          'What',
          ({ alert, state }) => (
            <span class="long-text">
              {state.lines.length > 0
                ? state.lines.map(({ name, text }) => `${name}: ${text}`).join('; ')
                : withCode(alert.when)}
            </span>
          ),
        ],
        ['Severity', ({ alert }) => alert.severity],
      ]}
    />
  );
}

function AlertFacts({ shown, now }: { shown: ShownAlert; now: number }): VNode {
  const { name, alert, level, state } = shown;
  return (
    <Facts
      facts={[
        ['State', <LevelTag key="state" shown={shown} now={now} />],
        state.since !== null && ['Since', <Time key="since" at={state.since} />],
        [
          'Fires when',
          withCode(`${alert.when}${alert.afterMinutes > 0 ? `, for ${alert.afterMinutes} minutes` : ''}`),
        ],
        ['Usual cause', alert.cause],
        ['Severity', alert.severity],
        [
          'Last message',
          state.notifiedAt === null ? <Dash key="message" /> : <Time key="message" at={state.notifiedAt} />,
        ],
        isSilenced(state, now) && ['Silenced until', <Time key="until" at={state.silencedUntil} />],
        ['Measured by', level === 'prometheus' ? 'Prometheus' : 'Souk and Prometheus'],
        ['Name', <code key="name">{name}</code>],
      ]}
    />
  );
}

function Lines({ shown: { state } }: { shown: ShownAlert }): VNode | null {
  if (state.lines.length === 0) return null;
  return (
    <Table
      name="What is wrong"
      rows={state.lines}
      columns={[
        ['Where', ({ name }) => name, 'row'],
        ['What', ({ text }) => <span class="long-text">{text}</span>],
      ]}
    />
  );
}

/** Buttons that silence an alert which Souk measures, or end its silence. */
function SilenceButtons({ shown, now }: { shown: ShownAlert; now: number }): VNode | null {
  const { name, level, state } = shown;
  if (level === 'prometheus') return null;
  const action = `${pageOf(name)}/silence`;
  return (
    <>
      {Object.entries(SILENCES).map(([length, text]) => (
        <PostButton key={length} action={action} fields={{ for: length }}>
          Silence for {text}
        </PostButton>
      ))}
      {isSilenced(state, now) && (
        <PostButton action={action} fields={{ for: 'end' }}>
          End the silence
        </PostButton>
      )}
    </>
  );
}
