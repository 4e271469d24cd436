export function build(folder: string, files?: readonly string[]): Promise<void>;
export function buildPrograms(): Promise<string>;
