/** How long tables that grow with use keep their rows. */
export interface RetentionSettings {
  callMonths: number;
  /** Months after which ledger lines are folded into one line for each source, kind and month; 0: never. */
  ledgerMonths: number;
  /** The number of newest weekly reports that each site keeps. One more is kept, because the oldest of them is compared with it. */
  reportWeeks: number;
}

export const RETENTION: RetentionSettings = { callMonths: 13, ledgerMonths: 0, reportWeeks: 104 };
