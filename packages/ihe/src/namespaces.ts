/** SOAP 1.2's envelope. */
export const SOAP = 'http://www.w3.org/2003/05/soap-envelope';
/** SOAP 1.1's, which some send faults in. */
export const SOAP_1_1 = 'http://schemas.xmlsoap.org/soap/envelope/';
/** WS-Addressing 1.0. */
export const WSA = 'http://www.w3.org/2005/08/addressing';
/** Its predecessor, still sent by a few. */
export const WSA_2004 = 'http://schemas.xmlsoap.org/ws/2004/08/addressing';
/** Descriptions of services. */
export const WSDL: readonly string[] = [
  'http://schemas.xmlsoap.org/wsdl/',
  'http://www.w3.org/ns/wsdl',
];
export const XOP = 'http://www.w3.org/2004/08/xop/include';
export const XSI = 'http://www.w3.org/2001/XMLSchema-instance';
/** HL7 v3, the messages of XCPD. */
export const HL7V3 = 'urn:hl7-org:v3';
/** ebXML's requests for documents and their metadata: query, rim, rs, lcm. */
export const EBXML_QUERY = 'urn:oasis:names:tc:ebxml-regrep:xsd:query:3.0';
export const EBXML_RIM = 'urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0';
export const EBXML_RS = 'urn:oasis:names:tc:ebxml-regrep:xsd:rs:3.0';
export const EBXML_LCM = 'urn:oasis:names:tc:ebxml-regrep:xsd:lcm:3.0';
/** IHE's retrieval and submission of documents. */
export const XDSB = 'urn:ihe:iti:xds-b:2007';
export const SAML = 'urn:oasis:names:tc:SAML:2.0:assertion';
export const DSIG = 'http://www.w3.org/2000/09/xmldsig#';
const WSS = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss';
/** WS-Security. */
export const WSSE = `${WSS}-wssecurity-secext-1.0.xsd`;
export const WSSE_1_1 =
  'http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd';
/** Its timestamps and ids. */
export const WSU = `${WSS}-wssecurity-utility-1.0.xsd`;
