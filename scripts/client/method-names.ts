/** Methods of the TypeScript client by operation id. A changed name breaks the programs of customers. */
export const ENDPOINT_METHODS: Readonly<Record<string, string>> = {
  createJob: 'jobs.create',
  listJobs: 'jobs.list',
  quoteJob: 'jobs.quote',
  getJob: 'jobs.get',
  cancelJob: 'jobs.cancel',
  createBatch: 'batches.create',
  listBatches: 'batches.list',
  quoteBatch: 'batches.quote',
  getBatch: 'batches.get',
  cancelBatch: 'batches.cancel',
  retryBatch: 'batches.retry',
  createResultLink: 'links.create',
  listResultLinks: 'links.list',
  revokeResultLink: 'links.revoke',
  createSchedule: 'schedules.create',
  listSchedules: 'schedules.list',
  quoteSchedule: 'schedules.quote',
  getSchedule: 'schedules.get',
  updateSchedule: 'schedules.update',
  deleteSchedule: 'schedules.delete',
  listScheduleRuns: 'schedules.runs',
  runSchedule: 'schedules.run',
  getUsage: 'billing.usage',
  listLedger: 'billing.ledger',
  listApiKeys: 'keys.list',
  createApiKey: 'keys.create',
  getApiKey: 'keys.get',
  updateApiKey: 'keys.update',
  revokeApiKey: 'keys.revoke',
  listAuditLog: 'audit.list',
  createTracker: 'trackers.create',
  listTrackers: 'trackers.list',
  listTrackedValues: 'trackers.values',
  quoteTracker: 'trackers.quote',
  getTracker: 'trackers.get',
  updateTracker: 'trackers.update',
  deleteTracker: 'trackers.delete',
  listTrackerAlerts: 'trackers.alerts',
  runTracker: 'trackers.run',
  getWebhookSettings: 'webhooks.settings',
  rotateWebhookSecret: 'webhooks.rotateSecret',
  testWebhook: 'webhooks.test',
  listDeliveries: 'webhooks.deliveries',
  getDelivery: 'webhooks.delivery',
  replayDelivery: 'webhooks.replay',
};

/** Endpoints whose methods are written by hand, because they stream or follow a job, and those for the operator. */
export const BY_HAND = [
  'getJobResult',
  'getJobEvents',
  'getBatchResults',
  'getBatchChanges',
  'getFile',
  'getOpenApi',
  'getHealth',
  'getReadiness',
];

/** Words of operation names that the names of the service join. */
const WORDS: Readonly<Record<string, string>> = {
  productfinder: 'productFinder',
  productsearch: 'productSearch',
  categorysearch: 'categorySearch',
  bestseller: 'bestSeller',
  topseller: 'topSeller',
  lightningdeal: 'lightningDeal',
  graphimage: 'graphImage',
  charturl: 'chartUrl',
  imageurl: 'imageUrl',
  reportdates: 'reportDates',
  wordhistory: 'wordHistory',
  wordgoods: 'wordGoods',
  asinreverse: 'asinReverse',
};

/** Returns the method of an operation: `trends.interest-over-time` -> `trends.interestOverTime`. */
export function operationMethod(operation: string): string {
  const [group = '', name = ''] = operation.split('.');
  return `${group}.${WORDS[name] ?? name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
}
