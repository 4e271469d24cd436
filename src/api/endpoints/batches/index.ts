import { cancelBatch } from './cancel-batch.ts';
import { createBatch, quoteBatch } from './create-batch.ts';
import { getBatch } from './get-batch.ts';
import { getBatchResults } from './get-batch-results.ts';
import { listBatches } from './list-batches.ts';
import { retryBatch } from './retry-batch.ts';

/** Batches: one operation for many items, run in the background. The endpoints are free; the calls of the items are not. */
export const BATCH_ENDPOINTS = [
  createBatch,
  quoteBatch,
  listBatches,
  getBatch,
  cancelBatch,
  getBatchResults,
  retryBatch,
];
