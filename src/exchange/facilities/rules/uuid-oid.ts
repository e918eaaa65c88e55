/** The OID derived from a UUID (ITU-T X.667, arc 2.25): globally unique without registration. */
export const oidOfUuid = (uuid: string): string => `2.25.${BigInt(`0x${uuid.replaceAll('-', '')}`)}`;
