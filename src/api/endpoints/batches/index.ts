import { cancelBatch } from './cancel-batch.ts';
import { createBatch } from './create-batch.ts';
import { getBatch } from './get-batch.ts';
import { getBatchResults } from './get-batch-results.ts';
import { listBatches } from './list-batches.ts';
import { retryBatch } from './retry-batch.ts';

/** Many items of one operation, done in the background. Free, but for the calls of the items. */
export const BATCH_ENDPOINTS = [createBatch, listBatches, getBatch, cancelBatch, getBatchResults, retryBatch];
