import { Gauge, type Registry } from 'prom-client';
import type { Stores } from '../../platform/stores.ts';
import { listAlerts } from './watch.ts';

/** Registers a gauge of the alerts, which reads PostgreSQL whenever the metrics are read. If it cannot, it has no values. */
export function registerAlertGauge(
  registry: Registry,
  { database, clock, log }: Pick<Stores, 'database' | 'clock' | 'log'>,
): void {
  const gauge = new Gauge({
    name: 'souk_alert',
    help: 'Whether an alert of the operator that Souk measures fires: 1 or 0.',
    labelNames: ['alert'],
    registers: [registry],
    async collect() {
      const alerts = await listAlerts(database, clock.now()).catch((error: unknown) => {
        log.warn({ err: error }, 'failed to read the alerts for the metrics');
        return [];
      });
      gauge.reset();
      for (const { name, level } of alerts)
        if (level !== 'prometheus') gauge.set({ alert: name }, level === 'firing' ? 1 : 0);
    },
  });
}
