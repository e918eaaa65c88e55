/** The OID that every UUID has (ITU-T X.667, arc 2.25): globally unique without a registration. */
export const oidOfUuid = (uuid: string): string => `2.25.${BigInt(`0x${uuid.replaceAll('-', '')}`)}`;
