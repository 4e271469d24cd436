/** A sample in the text format of Prometheus. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** The metrics of one scrape. */
export interface Scrape {
  samples: Sample[];
  /** Returns the sum of all samples with these labels; 0 without samples. */
  sum(name: string, labels?: Record<string, string>): number;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const HELP = new RegExp(`^# HELP (${NAME}) \\S.*$`);
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram|summary)$`);
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (-?[0-9.]+(?:e[+-]?\\d+)?|[+-]Inf|NaN)$`);
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

/** Reads the text format of Prometheus, strictly. @throws Error naming a line that breaks its rules. */
export function parseExposition(text: string): Scrape {
  if (!text.endsWith('\n')) throw new Error('The last line has no end.');
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  const seen = new Set<string>();
  for (const line of text.split('\n').filter((line) => line !== '')) {
    if (HELP.test(line)) continue;
    const [, declared, type] = TYPE.exec(line) ?? [];
    if (declared && type) {
      if (types.has(declared)) throw new Error(`Declared twice: ${line}`);
      types.set(declared, type);
      continue;
    }
    const [, name = '', labelText = '', value = ''] = SAMPLE.exec(line) ?? [];
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    if (name === '' || !types.has(family)) throw new Error(`Not a sample of a declared metric: ${line}`);
    if (types.get(family) === 'counter' && !name.endsWith('_total')) throw new Error(`Bad name: ${line}`);
    if (seen.has(`${name}{${labelText}}`)) throw new Error(`Given twice: ${line}`);
    seen.add(`${name}{${labelText}}`);
    samples.push({ name, labels: parseLabels(labelText, line), value: numberOf(value) });
  }
  return {
    samples,
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name)
        .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
        .reduce((sum, { value }) => sum + value, 0),
  };
}

function parseLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new Error(`Bad labels: ${line}`);
    labels[name] = value;
  }
  return labels;
}

function numberOf(text: string): number {
  return Number(text.replace('Inf', 'Infinity'));
}
