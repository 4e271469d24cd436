import type { ReportRow } from './report.ts';
import { ReportError } from './report-error.ts';

/** The ranks of a report, by department. */
export class Ranking {
  readonly #departments = new Map<number, { lastRank: number; rows: number }>();

  /** @throws ReportError if ranks decrease. */
  follow(department: number, { rank, at }: ReportRow): void {
    const { lastRank, rows } = this.#departments.get(department) ?? { lastRank: 0, rows: 0 };
    if (rank < lastRank)
      throw new ReportError(`Row ${at}: rank ${rank} follows rank ${lastRank}; ranks must not decrease.`);
    this.#departments.set(department, { lastRank: rank, rows: rows + 1 });
  }

  /** Number of rows of each department, the one with the most rows first. */
  get departments(): { department: number; rows: number }[] {
    return Array.from(this.#departments, ([department, { rows }]) => ({ department, rows })).sort(
      (a, b) => b.rows - a.rows || a.department - b.department,
    );
  }
}
