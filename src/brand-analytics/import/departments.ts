import type { RankSpan, ReportRow } from './report.ts';
import { ReportError } from './report-error.ts';

/** The departments of rows that come one after the other. */
export interface Departments {
  /** Numbers are given in the order departments come. @throws ReportError when ranks go back. */
  numberOf(row: ReportRow): number;
  /** What was seen since this was asked last. */
  take(): RankSpan[];
}

export function openDepartments(): Departments {
  const numbers = new Map<string, number>();
  let spans = new Map<string, RankSpan>();
  return {
    numberOf({ department, rank, at }) {
      let span = spans.get(department);
      if (!span) {
        const number = numbers.get(department) ?? numbers.size;
        numbers.set(department, number);
        span = { department: number, first: rank, at, last: rank, rows: 0 };
        spans.set(department, span);
      }
      if (rank < span.last) throw goesBack(at, rank, span.last);
      span.last = rank;
      span.rows += 1;
      return span.department;
    },
    take() {
      const taken = [...spans.values()];
      spans = new Map();
      return taken;
    },
  };
}

/** All ranks of a report: those of each piece follow those of the pieces before. */
export class Ranking {
  /** By department, in the order they come. */
  readonly #lastRanks = new Map<number, number>();
  readonly #rows = new Map<number, number>();

  /** @throws ReportError when ranks go back. */
  follow(spans: readonly RankSpan[]): void {
    for (const { department, first, at, last, rows } of spans) {
      const before = this.#lastRanks.get(department) ?? 0;
      if (first < before) throw goesBack(at, first, before);
      this.#lastRanks.set(department, last);
      this.#rows.set(department, (this.#rows.get(department) ?? 0) + rows);
    }
  }

  /** Rows of each department, the one with the most rows first. */
  get departments(): { department: number; rows: number }[] {
    return Array.from(this.#rows, ([department, rows]) => ({ department, rows })).sort(
      (a, b) => b.rows - a.rows || a.department - b.department,
    );
  }
}

function goesBack(at: number, rank: number, before: number): ReportError {
  return new ReportError(`Row ${at}: rank ${rank} comes after rank ${before}.`);
}
