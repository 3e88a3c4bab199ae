import it.unimi.dsi.webgraph.ImmutableGraph;
import java.io.BufferedOutputStream;
import java.io.PrintStream;

/** Prints the numbers of nodes and links of a graph, then every row, the last node's first: by the offsets. */
public class ReadArcs {
    public static void main(String[] arguments) throws Exception {
        ImmutableGraph graph = ImmutableGraph.load(arguments[0]);
        try (PrintStream out = new PrintStream(new BufferedOutputStream(System.out))) {
            out.println(graph.numNodes() + " " + graph.numArcs());
            for (int node = graph.numNodes() - 1; node >= 0; node--) {
                int[] row = graph.successorArray(node);
                StringBuilder line = new StringBuilder();
                for (int index = 0; index < graph.outdegree(node); index++) line.append(row[index]).append(' ');
                out.println(line);
            }
        }
    }
}
