export const SOURCES: readonly string[];
export const COPIED: readonly string[];
export function programsOf(checkout: string, compile: (folder: string) => Promise<void>): Promise<string>;
