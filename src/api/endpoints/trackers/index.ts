import { createTracker, quoteTracker } from './create-tracker.ts';
import { deleteTracker } from './delete-tracker.ts';
import { getTracker } from './get-tracker.ts';
import { listTrackerAlerts } from './list-tracker-alerts.ts';
import { listTrackers } from './list-trackers.ts';
import { runTracker } from './run-tracker.ts';
import { updateTracker } from './update-tracker.ts';

/** Trackers, which look at products or keywords at regular times and make alerts. */
export const TRACKER_ENDPOINTS = [
  createTracker,
  quoteTracker,
  listTrackers,
  getTracker,
  updateTracker,
  deleteTracker,
  listTrackerAlerts,
  runTracker,
];
