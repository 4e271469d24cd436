import type { VNode } from 'preact';
import type { StatusDay } from '../../operator/status/read-status.ts';
import { Table } from '../kit/table.tsx';
import { counted } from '../kit/words.tsx';

/** In SVG units; the drawing is as wide as its card. */
const DAY = { width: 4, gap: 1, height: 28 } as const;

/** The height of a day's bar by its level, so that colour is not the only difference. */
const HEIGHTS = { operational: 1, degraded: 0.6, outage: 0.25 } as const;

/** A bar for each day: full height without incidents, lower with degraded service, lowest with an outage. */
export function UptimeBar({ name, days }: { name: string; days: readonly StatusDay[] }): VNode {
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

function DayBar({
  day: { day, level, outageMinutes, degradedMinutes },
  x,
}: {
  day: StatusDay;
  x: number;
}): VNode {
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
