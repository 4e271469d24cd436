/** The most connections of the thread to PostgreSQL. */
export const CONNECTIONS = { requests: 4, money: 2 };

/** The share of a pool's places that paused jobs may have among the large jobs, and among the others. Together they have half of the places. */
export const PAUSING_SHARE = 1 / 4;
