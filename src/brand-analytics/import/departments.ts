import type { RankSpan, ReportRow } from './report.ts';
import { ReportError } from './report-error.ts';

/** The ranks of successive rows, by department. */
export interface Departments {
  /** @throws ReportError if ranks decrease. */
  follow(department: number, row: ReportRow): void;
  /** Returns the ranks since the last call of `take`. */
  take(): RankSpan[];
}

export function openDepartments(): Departments {
  let spans = new Map<number, RankSpan>();
  return {
    follow(department, { rank, at }) {
      let span = spans.get(department);
      if (!span) {
        span = { department, first: rank, at, last: rank, rows: 0 };
        spans.set(department, span);
      }
      if (rank < span.last) throw goesBack(at, rank, span.last);
      span.last = rank;
      span.rows += 1;
    },
    take() {
      const taken = [...spans.values()];
      spans = new Map();
      return taken;
    },
  };
}

/** The ranks of a whole report: checks that the ranks of each piece follow those of the pieces before. */
export class Ranking {
  /** The last rank, by department. */
  readonly #lastRanks = new Map<number, number>();
  readonly #rows = new Map<number, number>();

  /** @throws ReportError if ranks decrease. */
  follow(spans: readonly RankSpan[]): void {
    for (const { department, first, at, last, rows } of spans) {
      const before = this.#lastRanks.get(department) ?? 0;
      if (first < before) throw goesBack(at, first, before);
      this.#lastRanks.set(department, last);
      this.#rows.set(department, (this.#rows.get(department) ?? 0) + rows);
    }
  }

  /** Number of rows of each department, the one with the most rows first. */
  get departments(): { department: number; rows: number }[] {
    return Array.from(this.#rows, ([department, rows]) => ({ department, rows })).sort(
      (a, b) => b.rows - a.rows || a.department - b.department,
    );
  }
}

function goesBack(at: number, rank: number, before: number): ReportError {
  return new ReportError(`Row ${at}: rank ${rank} follows rank ${before}; ranks must not decrease.`);
}
