import ipaddr from 'ipaddr.js';

/** Returns the IPv4 address, or the 64 bits of the network of an IPv6 address: a client with one such address can use all of them. */
export function networkOf(address: string): string {
  const parsed = parse(address);
  return parsed instanceof ipaddr.IPv6 ? firstBits(parsed) : (parsed?.toString() ?? address);
}

/** Returns the network of 24 bits of an IPv4 address, or of 64 bits of an IPv6 address: one customer can own all its addresses. */
export function neighbourhoodOf(address: string): string {
  const parsed = parse(address);
  return parsed instanceof ipaddr.IPv4 ? parsed.octets.slice(0, 3).join('.') : networkOf(address);
}

/** Returns null if the text is not an address. An IPv4 address in IPv6 notation is an IPv4 address. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return ipaddr.isValid(address) ? ipaddr.process(address) : null;
}

function firstBits({ parts }: ipaddr.IPv6): string {
  return parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}
