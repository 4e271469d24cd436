export function build(target: string): Promise<void>;
