export function build(target: string, files?: readonly string[]): Promise<void>;
