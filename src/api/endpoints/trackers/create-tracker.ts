import { newTrackerSchema } from '../../../batches/trackers/request.ts';
import { trackerSchema } from '../../../batches/trackers/view.ts';
import { enveloped } from '../../openapi/responses.ts';
import { dryRunQuery, sendToWorker, type UploadDeps } from '../../uploads.ts';
import { endpoint } from '../endpoint.ts';
import { previewSchema } from './own-tracker.ts';

/** What a tracker and its quote share. */
const NEW_TRACKER = {
  tag: 'trackers',
  method: 'post',
  upload: {
    description: 'The times of the looks, the products or keywords, and the conditions',
    schema: newTrackerSchema,
    example: {
      name: 'Cheap headphones',
      cron: '0 6 * * *',
      timezone: 'Europe/Berlin',
      domain: 1,
      asins: ['B08N5WRWNX'],
      conditions: [{ type: 'price_below', price: 'new', value: 1999 }],
    },
  },
  errors: ['LIMIT_REACHED', 'QUOTA_MAX_UNITS'],
} as const;

export const createTracker = endpoint({
  ...NEW_TRACKER,
  path: '/api/trackers',
  tool: 'trackers_create',
  startsCalls: true,
  summary:
    'Creates a tracker: it looks at products or keywords at regular times, and makes an alert when a condition becomes true.',
  query: dryRunQuery,
  answers: { 201: enveloped('The tracker', trackerSchema, 'Location') },
  handle: (deps: UploadDeps, call) => sendTracker(deps, call, call.query.dryRun),
});

export const quoteTracker = endpoint({
  ...NEW_TRACKER,
  path: '/api/trackers/quote',
  summary: 'Checks a tracker and returns it with the price of a look and of a day, without creating it.',
  answers: { 200: enveloped('The tracker that would be created', previewSchema) },
  handle: (deps: UploadDeps, call) => sendTracker(deps, call, true),
});

function sendTracker(deps: UploadDeps, call: Parameters<typeof sendToWorker>[1], dryRun: boolean) {
  return sendToWorker(deps, call, (ids) => ({ kind: 'tracker', ...ids, trackerId: null, dryRun }));
}
