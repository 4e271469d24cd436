import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { COMPONENTS, type Level } from '../../operator/status/incidents.ts';
import {
  type ComponentStatus,
  type Incident,
  type Status,
  type StatusDay,
  statusOf,
} from '../../operator/status/read-status.ts';
import { ToneTag } from '../kit/elements.tsx';
import { Page } from '../kit/layout.tsx';
import { createKeptPages, setPageHeaders } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { counted, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { returningViewer } from '../session.ts';

/** Answers may be reused this long, because the gateway reads the status no more often. */
const CACHED = 'public, max-age=15';

const LEVELS: Record<Level, { tag: readonly ['good' | 'warn' | 'bad', string]; summary: string }> = {
  operational: { tag: ['good', 'Operational'], summary: 'All components are operational.' },
  degraded: { tag: ['warn', 'Degraded'], summary: 'Some components are degraded.' },
  outage: { tag: ['bad', 'Outage'], summary: 'Some components have an outage.' },
};

/** Registers the public status page, and the same facts as JSON. They need no store, so they answer even while one is down. */
export function registerStatus(app: FastifyInstance, { statusBoard, clock, limits }: Pages): void {
  const read = (): Status => {
    const { value, readAt } = statusBoard.current();
    return statusOf(value, readAt, clock.now());
  };
  app.register(async (scope) => {
    limits.openPages.limit(scope);
    setPageHeaders(scope);
    const sendKept = createKeptPages();
    let [facts, readings]: [unknown, number] = [undefined, 0];
    scope.get('/status', (request, reply) => {
      const { value } = statusBoard.current();
      if (value !== facts) [facts, readings] = [value, readings + 1];
      // The level depends on the age of the facts.
      const key = `${readings} ${Math.floor(clock.now() / 1_000)}`;
      const viewer = returningViewer(request);
      return sendKept(reply, { key, viewer, page: () => <StatusPage status={read()} /> });
    });
    scope.get('/status.json', (_request, reply) =>
      reply.header('cache-control', CACHED).send(jsonOf(read())),
    );
  });
}

function StatusPage({ status }: { status: Status }): VNode {
  const { components, incidents } = status;
  return (
    <Page title="Status" styles={['status.css']}>
      <Summary status={status} />
      <h2>Components</h2>
      <p class="hint">
        The last 90 days, measured by the failures of calls and requests. Uptime is the time without an
        outage.
      </p>
      {components.map((component) => (
        <Component key={component.id} component={component} />
      ))}
      <h2>Incidents of the last 90 days</h2>
      {incidents.length === 0 && <p class="empty card">No incidents.</p>}
      {incidents.map((incident) => (
        <IncidentCard key={incident.id} incident={incident} />
      ))}
      <p>
        <a href="/status.json">The same as JSON</a>
      </p>
    </Page>
  );
}

function Summary({ status: { level, isLastKnown, measuredAt } }: { status: Status }): VNode {
  if (isLastKnown)
    return (
      <div class="notice warn" role="status">
        {measuredAt === null ? (
          <p>No measurements yet.</p>
        ) : (
          <p>
            No new measurements have arrived since <Time at={measuredAt} />. The page shows the state at that
            time.
          </p>
        )}
      </div>
    );
  const { tag, summary } = LEVELS[level];
  return (
    <div class={`notice ${tag[0]}`} role="status">
      <p>
        {summary} Measured at <Time at={measuredAt} />.
      </p>
    </div>
  );
}

function Component({ component }: { component: ComponentStatus }): VNode {
  const { id, name, affects, level, uptime, days } = component;
  return (
    <section class="card status-component" aria-labelledby={`status-${id}`}>
      <div class="row">
        <h3 id={`status-${id}`}>{name}</h3>
        <ToneTag of={LEVELS[level].tag} />
        {uptime !== null && <span class="push muted">{percentage(uptime)} uptime</span>}
      </div>
      <p class="hint">{affects}</p>
      <UptimeBar name={name} days={days} />
    </section>
  );
}

function IncidentCard({ incident }: { incident: Incident }): VNode {
  const { component, level, startedAt, endedAt, notes } = incident;
  const [name, affects] = COMPONENTS[component];
  return (
    <article class="card">
      <div class="row">
        <h3>{name}</h3>
        <ToneTag of={LEVELS[level].tag} />
        {endedAt === null && <ToneTag of={['busy', 'In progress']} />}
      </div>
      <p>
        <Time at={startedAt} /> to {endedAt === null ? 'now' : <Time at={endedAt} />}
        {endedAt !== null && `, ${lengthText(endedAt - startedAt)}`}. Affected: {affects}.
      </p>
      {notes.map(({ at, text }) => (
        <p key={at} class="status-note">
          <Time at={at} />: {text}
        </p>
      ))}
    </article>
  );
}

function jsonOf({ level, isLastKnown, measuredAt, components, incidents }: Status) {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return {
    status: level,
    measuredAt: iso(measuredAt),
    lastKnown: isLastKnown,
    components: components.map(({ id, level: status, ...rest }) => ({ id, status, ...rest })),
    incidents: incidents.map(({ id, component, level: worst, startedAt, endedAt, notes }) => ({
      id,
      component,
      level: worst,
      affects: COMPONENTS[component][1],
      startedAt: iso(startedAt),
      endedAt: iso(endedAt),
      minutes: endedAt === null ? null : Math.round((endedAt - startedAt) / 60_000),
      notes,
    })),
  };
}

function percentage(uptime: number): string {
  // Rounded down, so that 100 % means no outage.
  return `${(Math.floor(uptime * 10_000) / 100).toFixed(2)} %`;
}

function lengthText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${minutes} min` : `${hours} h ${minutes % 60} min`;
}

/** In SVG units; the drawing is as wide as its card. */
const DAY = { width: 4, gap: 1, height: 28 } as const;

/** The height of a day's bar by its level, so that colour is not the only difference. */
const HEIGHTS = { operational: 1, degraded: 0.6, outage: 0.25 } as const;

/** A bar for each day: full height without incidents, lower with degraded service, lowest with an outage. */
function UptimeBar({ name, days }: { name: string; days: readonly StatusDay[] }): VNode {
  const width = days.length * (DAY.width + DAY.gap) - DAY.gap;
  const affected = days.filter(({ level }) => level !== null && level !== 'operational').reverse();
  return (
    <>
      <svg
        class="uptime"
        viewBox={`0 0 ${width} ${DAY.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}, ${days.length} days: ${affected.length === 0 ? 'no incidents' : `incidents on ${counted(affected.length, 'day')}`}`}
      >
        {days.map((day, i) => (
          <DayBar key={day.day} day={day} x={i * (DAY.width + DAY.gap)} />
        ))}
      </svg>
      <div class="uptime-axis muted" aria-hidden="true">
        <small>{days[0]?.day}</small>
        <small>today</small>
      </div>
      {affected.length > 0 && (
        <details>
          <summary>Days with incidents</summary>
          <Table
            name={`${name}: days with incidents`}
            rows={affected}
            columns={[
              ['Day', ({ day }) => day, 'row'],
              ['Outage', ({ outageMinutes }) => `${outageMinutes} min`, 'number'],
              ['Degraded', ({ degradedMinutes }) => `${degradedMinutes} min`, 'number'],
            ]}
          />
        </details>
      )}
    </>
  );
}

function DayBar({ day: { day, level, outageMinutes, degradedMinutes }, x }: { day: StatusDay; x: number }) {
  const height = DAY.height * (level === null ? 0.08 : HEIGHTS[level]);
  const facts = [
    outageMinutes > 0 && `outage of ${outageMinutes} min`,
    degradedMinutes > 0 && `degraded for ${degradedMinutes} min`,
  ].filter(Boolean);
  return (
    <rect class={`uptime-${level ?? 'none'}`} x={x} y={DAY.height - height} width={DAY.width} height={height}>
      {facts.length > 0 && <title>{`${day}: ${facts.join(', ')}`}</title>}
    </rect>
  );
}
