import { SingleBar } from 'cli-progress';
import type { ImportStage } from '../brand-analytics/import/import-week.ts';

/** A progress bar of an import, on standard error. */
export interface ImportBar {
  /** Shows a stage before the size is known. */
  waiting(what: string): void;
  /** @param size 0 if it is not known. */
  reading(progress: { stage: ImportStage; rows: number; bytes: number; size: number }): void;
  stop(): void;
  elapsedSeconds(): number;
}

export function showImportBar(): ImportBar {
  const bar = new SingleBar({
    format: '{stage} [{bar}] {percentage}% | {rows} rows | {rate} rows/s | {left} left',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  });
  const startedAt = performance.now();
  let readingSince = startedAt;
  bar.start(1, 0, { stage: 'reading', rows: 0, rate: '-', left: '-' });
  return {
    waiting(what) {
      readingSince = performance.now();
      bar.update(0, { stage: what });
    },
    reading({ stage, rows, bytes, size }) {
      const seconds = (performance.now() - readingSince) / 1000;
      const left = size > 0 ? `${Math.ceil((seconds / Math.max(1, bytes)) * (size - bytes))} s` : '?';
      bar.setTotal(Math.max(1, size));
      bar.update(Math.min(bytes, Math.max(1, size)), {
        stage,
        rows: rows.toLocaleString('en-US'),
        rate: Math.round(rows / seconds).toLocaleString('en-US'),
        left: stage === 'reading' ? left : '-',
      });
    },
    stop: () => bar.stop(),
    elapsedSeconds: () => Math.max(1, Math.round((performance.now() - startedAt) / 1000)),
  };
}
