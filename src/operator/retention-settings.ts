/** How long tables that grow with use keep their rows. */
export interface RetentionSettings {
  callMonths: number;
  /** After so many months, lines of the ledger are folded into one a source, kind and month; 0: never. */
  ledgerMonths: number;
  /** Weekly reports of each site, besides the one before them, which the oldest one is compared with. */
  reportWeeks: number;
}

export const RETENTION: RetentionSettings = { callMonths: 13, ledgerMonths: 0, reportWeeks: 104 };
