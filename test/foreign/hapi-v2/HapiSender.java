import ca.uhn.hl7v2.DefaultHapiContext;
import ca.uhn.hl7v2.app.Connection;
import ca.uhn.hl7v2.llp.MinLowerLayerProtocol;
import ca.uhn.hl7v2.model.Message;
import ca.uhn.hl7v2.model.v251.message.ORU_R01;
import ca.uhn.hl7v2.util.Terser;

/**
 * Sends a result with HAPI's HL7 v2 library, twice on one connection, and prints the code of each acknowledgement. Arguments:
 * port, family name, and the texts of the first repetition of OBX-5, of the second one, and of NTE-3.
 */
public class HapiSender {
  public static void main(String[] args) throws Exception {
    ORU_R01 message = new ORU_R01();
    message.initQuickstart("ORU", "R01", "P");
    Terser terser = new Terser(message);
    terser.set("/MSH-3", "LAB");
    terser.set("/MSH-4", "ACME");
    terser.set("/MSH-7", "20261120090000+0000");
    terser.set("/MSH-10", "of-hapi-1");
    terser.set("/MSH-18", "UNICODE UTF-8");
    terser.set("/.PID-3-1", "R1");
    terser.set("/.PID-5-1", args[1]);
    terser.set("/.PID-5-2", "Pat");
    terser.set("/.PID-5(1)-1", "Other");
    terser.set("/.PID-7", "19800405");
    terser.set("/.PID-8", "F");
    terser.set("/.PID-11-1", "12 Beacon Street");
    terser.set("/.PID-11-3", "Boston");
    terser.set("/.PID-11-5", "02108");
    terser.set("/.OBR-3", "F-1");
    terser.set("/.OBR-4-1", "51990-0");
    terser.set("/.OBR-4-3", "LN");
    terser.set("/.OBR-7", "20261120080000+0000");
    terser.set("/.OBR-25", "F");
    terser.set("/.OBX-2", "ST");
    terser.set("/.OBX-3-1", "8251-1");
    terser.set("/.OBX-3-3", "LN");
    terser.set("/.OBX-11", "F");
    terser.set("/.OBX-5", args[2]);
    terser.set("/.OBX-5(1)", args[3]);
    terser.set("/.OBSERVATION/NTE-3", args[4]);
    try (DefaultHapiContext context = new DefaultHapiContext()) {
      // Writes in the character set of MSH-18; otherwise in US-ASCII.
      context.setLowerLayerProtocol(new MinLowerLayerProtocol(true));
      Connection connection = context.newClient("127.0.0.1", Integer.parseInt(args[0]), false);
      for (int time = 0; time < 2; time++) {
        Message answer = connection.getInitiator().sendAndReceive(message);
        System.out.println("ACK " + new Terser(answer).get("/MSA-1") + " " + new Terser(answer).get("/MSA-2"));
      }
      connection.close();
    }
  }
}
