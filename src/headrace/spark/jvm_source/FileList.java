package headrace.spark;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The files of a pinned scan by column, and which of them share their partition values.
 *
 * <p>They come from the kernel as one Arrow stream: path, size, time, whether there is a deletion
 * vector, then the partition values, of their own types. Objects for Spark are made only of the
 * files that a query needs. A file with a deletion vector stands alone: the vector is one more
 * partition value, null for all others, and is fetched when a query first needs it.
 */
public final class FileList {
  private static final int FIRST_PARTITION_COLUMN = 4;
  private static final byte[] NOT_YET = new byte[0];

  public final StructType partitionSchema;
  final Directory[] directories;
  final long sizeInBytes;
  private final List paths = new ArrayList();
  private final LongColumn sizes = new LongColumn();
  private final LongColumn times = new LongColumn();

  /** Files with the same partition values. */
  static final class Directory {
    final InternalRow values;
    final int[] ordinals;

    Directory(InternalRow values, int[] ordinals) {
      this.values = values;
      this.ordinals = ordinals;
    }

    boolean hasVector(StructType schema) {
      int last = schema.length() - 1;
      return values.numFields() > 0
          && Vectors.COLUMN.equals(schema.fields()[Math.max(last, 0)].name())
          && !values.isNullAt(last);
    }
  }

  /**
   * @param stream the path of the Arrow stream
   * @param partitionSchema the types of the partition values, under their physical names
   * @param vectorColumn the one for deletion vectors; null if no file has one
   */
  public FileList(String stream, StructType partitionSchema, StructField vectorColumn)
      throws Exception {
    this.partitionSchema =
        vectorColumn == null ? partitionSchema : partitionSchema.add(vectorColumn);
    BufferAllocator allocator = newAllocator();
    try {
      InputStream file = new BufferedInputStream(Files.newInputStream(Paths.get(stream)), 1 << 20);
      ArrowStreamReader reader = new ArrowStreamReader(file, allocator);
      try {
        this.directories = read(reader, partitionSchema, vectorColumn != null);
      } finally {
        reader.close();
      }
    } finally {
      allocator.close();
    }
    this.sizeInBytes = sizes.sum();
  }

  private Directory[] read(ArrowStreamReader reader, StructType partitions, boolean vectors)
      throws Exception {
    UnsafeProjection toRow = UnsafeProjection$.MODULE$.create(partitions);
    int width = partitions.length();
    Map groups = new HashMap();
    List alone = new ArrayList();
    VectorSchemaRoot root = reader.getVectorSchemaRoot();
    while (reader.loadNextBatch()) {
      VarCharVector path = (VarCharVector) root.getVector(0);
      BigIntVector size = (BigIntVector) root.getVector(1);
      BigIntVector time = (BigIntVector) root.getVector(2);
      BitVector hasVector = (BitVector) root.getVector(3);
      ColumnVector[] columns = new ColumnVector[width];
      for (int i = 0; i < width; i++) {
        columns[i] = new ArrowColumnVector(root.getVector(FIRST_PARTITION_COLUMN + i));
      }
      ColumnarBatch batch = new ColumnarBatch(columns, root.getRowCount());
      for (int row = 0; row < root.getRowCount(); row++) {
        int ordinal = paths.size();
        paths.add(new String(path.get(row), java.nio.charset.StandardCharsets.UTF_8));
        sizes.add(size.get(row));
        times.add(time.get(row));
        UnsafeRow values = toRow.apply(batch.getRow(row));
        if (hasVector.get(row) != 0) {
          int[] single = new int[] {ordinal};
          alone.add(new Directory(generic(values, partitions, NOT_YET, true), single));
          continue;
        }
        IntColumn group = (IntColumn) groups.get(values);
        if (group == null) {
          group = new IntColumn();
          groups.put(values.copy(), group);
        }
        group.add(ordinal);
      }
    }
    Directory[] found = new Directory[groups.size() + alone.size()];
    int next = 0;
    for (Object item : groups.entrySet()) {
      Map.Entry entry = (Map.Entry) item;
      InternalRow values = generic((InternalRow) entry.getKey(), partitions, null, vectors);
      found[next++] = new Directory(values, ((IntColumn) entry.getValue()).toArray());
    }
    for (Object item : alone) {
      found[next++] = (Directory) item;
    }
    return found;
  }

  /** A row of partition values that can be given its deletion vector later. */
  private static InternalRow generic(
      InternalRow values, StructType types, byte[] vector, boolean withVector) {
    Object[] fields = new Object[types.length() + (withVector ? 1 : 0)];
    for (int i = 0; i < types.length(); i++) {
      Object value = values.get(i, types.fields()[i].dataType());
      boolean isView = value instanceof org.apache.spark.unsafe.types.UTF8String;
      fields[i] = isView ? ((org.apache.spark.unsafe.types.UTF8String) value).clone() : value;
    }
    if (withVector) {
      fields[types.length()] = vector;
    }
    return new GenericInternalRow(fields);
  }

  /** Fetch those deletion vectors that no query has needed yet. */
  void loadVectors(List directories, Function vectors) {
    synchronized (this) {
      List missing = new ArrayList();
      for (Object item : directories) {
        if (vectorOf((Directory) item) == NOT_YET) {
          missing.add(item);
        }
      }
      if (missing.isEmpty()) {
        return;
      }
      ByteBuffer asked = ByteBuffer.allocate(4 * missing.size()).order(ByteOrder.LITTLE_ENDIAN);
      for (Object item : missing) {
        asked.putInt(((Directory) item).ordinals[0]);
      }
      Object answer = vectors.apply(asked.array());
      if (answer instanceof String) {
        throw new IllegalArgumentException((String) answer);
      }
      byte[][] fetched = decodeVectors((byte[]) answer, missing.size());
      for (int i = 0; i < fetched.length; i++) {
        ((Directory) missing.get(i)).values.update(partitionSchema.length() - 1, fetched[i]);
      }
    }
  }

  private byte[] vectorOf(Directory directory) {
    return directory.values.getBinary(partitionSchema.length() - 1);
  }

  private static byte[][] decodeVectors(byte[] stream, int expected) {
    byte[][] fetched = new byte[expected][];
    int next = 0;
    BufferAllocator allocator = newAllocator();
    try {
      ArrowStreamReader reader =
          new ArrowStreamReader(new ByteArrayInputStream(stream), allocator);
      try {
        while (reader.loadNextBatch()) {
          VarBinaryVector found = (VarBinaryVector) reader.getVectorSchemaRoot().getVector(0);
          for (int i = 0; i < found.getValueCount(); i++) {
            fetched[next++] = found.get(i);
          }
        }
      } finally {
        reader.close();
      }
    } catch (java.io.IOException error) {
      throw new IllegalStateException("deletion vectors did not arrive whole", error);
    } finally {
      allocator.close();
    }
    if (next != expected) {
      throw new IllegalStateException(next + " deletion vectors came, not " + expected);
    }
    return fetched;
  }

  /** Those of some files whose path is in the set. */
  int[] among(int[] ordinals, Set kept) {
    IntColumn found = new IntColumn();
    for (int i = 0; i < ordinals.length; i++) {
      if (kept.contains(paths.get(ordinals[i]))) {
        found.add(ordinals[i]);
      }
    }
    return found.toArray();
  }

  FileStatusWithMetadata[] statuses(int[] ordinals) {
    FileStatusWithMetadata[] found = new FileStatusWithMetadata[ordinals.length];
    scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
    for (int i = 0; i < ordinals.length; i++) {
      int file = ordinals[i];
      String address = (String) paths.get(file);
      Path path = hadoopPath(address);
      long size = sizeOf(address, path, sizes.get(file));
      FileStatus status = new FileStatus(size, false, 0, 0L, times.get(file), path);
      found[i] = new FileStatusWithMetadata(status, none);
    }
    return found;
  }

  /**
   * The size that Spark is told of a file.
   *
   * <p>Spark reads what lies within it, and passes over files without a byte: with a size that is
   * too small, rows would be missing. So files of this machine are looked at. Those of a store
   * are not asked for one by one, unless the log has no size.
   */
  private static long sizeOf(String address, Path path, long logged) {
    long size = address.startsWith("/") ? new java.io.File(address).length() : logged;
    if (size > 0) {
      return size;
    }
    try {
      size = path.getFileSystem(SparkContext.getOrCreate().hadoopConfiguration())
          .getFileStatus(path).getLen();
    } catch (java.io.FileNotFoundException error) {
      throw new IllegalArgumentException(
          "[DATA_FILE_NOT_FOUND] "
              + address
              + ": the log references this file, but it does not exist; it may have been vacuumed:"
              + " read a newer version, or restore the file");
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
    if (size == 0) {
      throw new IllegalArgumentException(
          "[CORRUPT_DATA_FILE] "
              + address
              + ": it is empty; restore the file from a backup, or have its writer rewrite it");
    }
    return size;
  }

  String[] uris() {
    String[] found = new String[paths.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = hadoopPath((String) paths.get(i)).toUri().toString();
    }
    return found;
  }

  /** A decoded address as Hadoop has it: nothing in it is an escape, or a pattern. */
  static Path hadoopPath(String address) {
    int end = address.startsWith("/") ? -1 : address.indexOf("://");
    if (end < 0) {
      return new Path("file", null, address);
    }
    int slash = address.indexOf('/', end + 3);
    String authority = address.substring(end + 3, slash);
    return new Path(address.substring(0, end), authority, address.substring(slash));
  }

  private static BufferAllocator newAllocator() {
    return ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("headrace", 0, Long.MAX_VALUE);
  }

  /** Whole numbers, as many as come. */
  private static final class IntColumn {
    private int[] values = new int[4];
    private int count = 0;

    void add(int value) {
      if (count == values.length) {
        values = java.util.Arrays.copyOf(values, 2 * count);
      }
      values[count++] = value;
    }

    int[] toArray() {
      return java.util.Arrays.copyOf(values, count);
    }
  }

  private static final class LongColumn {
    private long[] values = new long[64];
    private int count = 0;

    void add(long value) {
      if (count == values.length) {
        values = java.util.Arrays.copyOf(values, 2 * count);
      }
      values[count++] = value;
    }

    long get(int index) {
      return values[index];
    }

    long sum() {
      long total = 0;
      for (int i = 0; i < count; i++) {
        total += values[i];
      }
      return total;
    }
  }
}
