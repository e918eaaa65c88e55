import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.List;
import java.util.Scanner;
import javax.xml.namespace.QName;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.common.WSS4JConstants;
import org.apache.wss4j.common.crypto.Merlin;
import org.apache.wss4j.common.saml.OpenSAMLUtil;
import org.apache.wss4j.common.saml.SAMLCallback;
import org.apache.wss4j.common.saml.SamlAssertionWrapper;
import org.apache.wss4j.common.saml.bean.AttributeBean;
import org.apache.wss4j.common.saml.bean.AttributeStatementBean;
import org.apache.wss4j.common.saml.bean.ConditionsBean;
import org.apache.wss4j.common.saml.bean.KeyInfoBean;
import org.apache.wss4j.common.saml.bean.KeyInfoBean.CERT_IDENTIFIER;
import org.apache.wss4j.common.saml.bean.SubjectBean;
import org.apache.wss4j.common.saml.bean.Version;
import org.apache.wss4j.common.saml.builder.SAML2Constants;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.wss4j.dom.engine.WSSecurityEngine;
import org.apache.wss4j.dom.engine.WSSecurityEngineResult;
import org.apache.wss4j.dom.handler.RequestData;
import org.apache.wss4j.dom.handler.WSHandlerResult;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.apache.wss4j.dom.message.WSSecTimestamp;
import org.apache.wss4j.dom.saml.WSSecSignatureSAML;
import org.opensaml.core.xml.schema.XSAny;
import org.opensaml.core.xml.schema.impl.XSAnyBuilder;
import org.opensaml.saml.saml2.core.AttributeValue;
import org.w3c.dom.Document;

/**
 * WSS4J as the other side. `verify <certificate as PEM>`: each line of input is
 * a message in base64; each line of output begins with VERIFIED and says whose
 * it is, or with REFUSED and says why. `sign <PKCS 12 file>`: signs each line of
 * input, an envelope in base64, and writes it in base64, once for each way to
 * name the key in an assertion. The file's password is "password".
 */
public class WssTool {
  private static final String PASSWORD = "password";

  public static void main(String[] args) throws Exception {
    WSSConfig.init();
    OpenSAMLUtil.initSamlEngine();
    Merlin crypto = new Merlin();
    Scanner input = new Scanner(System.in, StandardCharsets.US_ASCII);
    if (args[0].equals("sign")) {
      crypto.setKeyStore(keys(args[1]));
      while (input.hasNextLine()) {
        byte[] envelope = Base64.getDecoder().decode(input.nextLine());
        for (CERT_IDENTIFIER way : List.of(CERT_IDENTIFIER.KEY_VALUE, CERT_IDENTIFIER.X509_CERT))
          System.out.println(Base64.getEncoder().encodeToString(sign(envelope, crypto, way)));
      }
      return;
    }
    crypto.setTrustStore(trusting(args[1]));
    while (input.hasNextLine()) {
      byte[] message = Base64.getDecoder().decode(input.nextLine());
      try {
        System.out.println("VERIFIED " + verify(message, crypto));
      } catch (Exception error) {
        System.out.println("REFUSED " + error.getMessage().replaceAll("\\s+", " "));
      }
    }
  }

  /** An assertion for the holder of the key, and a signature of the timestamp. */
  private static byte[] sign(byte[] envelope, Merlin crypto, CERT_IDENTIFIER way) throws Exception {
    String alias = crypto.getKeyStore().aliases().nextElement();
    X509Certificate certificate = (X509Certificate) crypto.getKeyStore().getCertificate(alias);
    SamlAssertionWrapper assertion = assertionFor(certificate, way);
    assertion.signAssertion(
        alias, PASSWORD, crypto, false,
        WSS4JConstants.C14N_EXCL_OMIT_COMMENTS, WSS4JConstants.RSA_SHA256, WSS4JConstants.SHA256);

    Document document = parse(envelope);
    WSSecHeader header = new WSSecHeader(document);
    header.insertSecurityHeader();
    WSSecTimestamp timestamp = new WSSecTimestamp(header);
    timestamp.build();
    WSSecSignatureSAML signature = new WSSecSignatureSAML(header);
    signature.setUserInfo(alias, PASSWORD);
    signature.setSignatureAlgorithm(WSS4JConstants.RSA_SHA256);
    signature.setDigestAlgo(WSS4JConstants.SHA256);
    signature.getParts().add(new WSEncryptionPart(timestamp.getId()));
    signature.build(crypto, assertion, null, null, null);

    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    TransformerFactory.newInstance().newTransformer()
        .transform(new DOMSource(document), new StreamResult(bytes));
    return bytes.toByteArray();
  }

  private static SamlAssertionWrapper assertionFor(X509Certificate certificate, CERT_IDENTIFIER way)
      throws Exception {
    KeyInfoBean key = new KeyInfoBean();
    key.setCertificate(certificate);
    key.setCertIdentifer(way);
    SubjectBean subject = new SubjectBean("CN=wss4j", null, SAML2Constants.CONF_HOLDER_KEY);
    subject.setKeyInfo(key);
    AttributeStatementBean statement = new AttributeStatementBean();
    statement.setSamlAttributes(List.of(
        attribute("urn:oasis:names:tc:xspa:1.0:subject:organization", "Zoë & Co"),
        attribute("urn:nhin:names:saml:homeCommunityId", "urn:oid:2.999.2"),
        attribute("urn:oasis:names:tc:xspa:1.0:subject:purposeofuse", purpose())));
    SAMLCallback callback = new SAMLCallback();
    callback.setSamlVersion(Version.SAML_20);
    callback.setIssuer("CN=wss4j");
    callback.setSubject(subject);
    callback.setConditions(new ConditionsBean(5));
    callback.setAttributeStatementData(List.of(statement));
    return new SamlAssertionWrapper(callback);
  }

  private static AttributeBean attribute(String name, Object value) {
    return new AttributeBean(name.substring(name.lastIndexOf(':') + 1), name, List.of(value));
  }

  /** HL7's code within an attribute's value, as the networks have it. */
  private static XSAny purpose() {
    XSAnyBuilder builder = new XSAnyBuilder();
    XSAny code = builder.buildObject("urn:hl7-org:v3", "PurposeOfUse", "hl7");
    code.getUnknownAttributes().put(new QName("code"), "TREATMENT");
    code.getUnknownAttributes().put(new QName("codeSystem"), "2.16.840.1.113883.3.18.7.1");
    XSAny value = builder.buildObject(AttributeValue.DEFAULT_ELEMENT_NAME);
    value.getUnknownXMLObjects().add(code);
    return value;
  }

  private static KeyStore keys(String file) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream stream = new FileInputStream(file)) {
      store.load(stream, PASSWORD.toCharArray());
    }
    return store;
  }

  private static KeyStore trusting(String file) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (InputStream pem = new FileInputStream(file)) {
      Certificate certificate = CertificateFactory.getInstance("X.509").generateCertificate(pem);
      store.setCertificateEntry("trusted", certificate);
    }
    return store;
  }

  private static String verify(byte[] message, Merlin crypto) throws Exception {
    RequestData data = new RequestData();
    data.setWssConfig(WSSConfig.getNewInstance());
    data.setSigVerCrypto(crypto);
    data.setIgnoredBSPRules(List.of());
    data.setTimeStampStrict(true);
    WSHandlerResult result = new WSSecurityEngine().processSecurityHeader(parse(message), data);

    StringBuilder verified = new StringBuilder();
    if (!result.getActionResults().containsKey(WSConstants.SIGN)) throw new Exception("nothing is signed");
    if (!result.getActionResults().containsKey(WSConstants.TS)) throw new Exception("there is no timestamp");
    for (WSSecurityEngineResult each : result.getActionResults().getOrDefault(WSConstants.ST_SIGNED, List.of())) {
      SamlAssertionWrapper assertion =
          (SamlAssertionWrapper) each.get(WSSecurityEngineResult.TAG_SAML_ASSERTION);
      verified.append(assertion.getIssuerString());
    }
    if (verified.isEmpty()) throw new Exception("there is no signed assertion");
    return verified.toString();
  }

  private static Document parse(byte[] xml) throws Exception {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setNamespaceAware(true);
    return factory.newDocumentBuilder().parse(new ByteArrayInputStream(xml));
  }
}
