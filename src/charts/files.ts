import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { projectFile } from '../platform/project.ts';

const { resolve } = createRequire(import.meta.url);

/** The paths of the files that draw a chart over time: uPlot, and our script and styles. Pages and the view of agents load them. */
export const CHART_PATHS = {
  library: resolve('uplot/dist/uPlot.iife.min.js'),
  libraryStyles: resolve('uplot/dist/uPlot.min.css'),
  script: fileURLToPath(projectFile('src/charts/time-chart.js')),
  styles: fileURLToPath(projectFile('src/charts/time-chart.css')),
} as const;
