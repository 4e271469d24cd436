/** One line of the table. */
export interface Row {
  what: string;
  ours: string;
  baseline: string;
  ratio: number;
  aim: string;
  failures: number;
}
